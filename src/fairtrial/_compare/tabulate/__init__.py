"""What do the tables of the field show?"""
