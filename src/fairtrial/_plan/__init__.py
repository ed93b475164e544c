"""How many people does an audit need?"""
