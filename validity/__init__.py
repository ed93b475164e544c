"""The validity board: does every p-value and interval hold its level?"""
