"""The parts of `certify`: what its public function is made of."""
