"""Which known groups are harmed?"""
