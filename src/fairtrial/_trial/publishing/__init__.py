"""Publishing: what a stranger may read.

Small groups are joined before anything is computed, so that every number is made of counts that may be known; what
would tell of few people all the same is left out, and the rest is rounded.
"""
