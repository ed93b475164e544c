"""The parts of `explain`: what its public function is made of."""
