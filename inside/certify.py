"""What the tests, the board and the side trees use of certify beside the public names."""

from fairtrial._compare.judgement import joint_of as joint_of
