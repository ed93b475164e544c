"""What are the rates?"""
