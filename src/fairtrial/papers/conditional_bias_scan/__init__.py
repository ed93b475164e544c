"""Conditional bias scan (Boxer, McFowland and Neill, Auditing Predictive Models for Intersectional Biases).

`scan` is the article's system with the article's choices. Its building blocks can be called and swapped:

the score F of Table 2         `set_peak`, `set_rises_at`, `penalty_roots` on `CellNumbers` (Bernoulli or Gaussian)
the priority search (A.2)      `best_values` for one attribute; `climb` (Algorithm 1); `enumerate_subgroups`, a proof;
                               `find_subgroups` and `maximum_scores` of `SearchedCells`
expectations (3.2, A.1)        `Expectations`, `Designs`, `odds_weights`, `expected_events`, `spread`
the randomisation null (A.3)   `whole_sample`, the article's; `stratified`, `drawn_class`, `drawn_events`
all of it                      `prepare`, `scan_observed`, `scan_draws`
"""

from __future__ import annotations

import lazy_loader

# The stub beside this file lists the names; each is loaded on first use, since the search is compiled.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
