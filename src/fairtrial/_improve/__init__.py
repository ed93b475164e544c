"""The parts of `improve`: what its public function is made of."""
