"""The parts of `measure`: what its public function is made of."""
