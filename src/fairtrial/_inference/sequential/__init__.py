"""Looking as often as one likes: e-processes for gaps of a stream of periods (Ville's inequality bounds all looks)."""
