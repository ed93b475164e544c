"""The parts of `transport`: what its public function is made of."""
