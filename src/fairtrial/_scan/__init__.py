"""The parts of `scan`: what its public function is made of."""
