"""How little would have to change?"""
