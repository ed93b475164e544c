"""Which unknown subgroups are harmed?"""
