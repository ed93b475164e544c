"""What certify, flag and plan share: from an audit to every group's gap, and its judgement."""
