"""Which features carry it?"""
