"""How strong a factor that nobody measured would have to be to overturn what an adjusted gap says."""
