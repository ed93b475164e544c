"""Was there a fairer way, just as good?"""
