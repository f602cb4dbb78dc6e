#pragma once

#include "sotto/strategies/gossip/mixing/mixing_method.hpp"

namespace sotto::mixing {

/// CHOCO: ranks keep a copy of what their neighbours know of them, and send compressed what changes
/// it. Parameters move towards neighbours' copies, so that the mean is kept whatever is left out of
/// a message, and that is sent later.
///   math    x = x - rate g; x += step * sum over j of w_ij (c_j - c_i); q_i = C(x - c_i), which is
///           sent; c_j += q_j, everywhere
///   shape   needs a topology whose rounds are all alike, and a compressor that is contractive and
///           remembers nothing: by messages of an unbiased one, such as qsgd, copies diverge, but
///           not by scaled_down{qsgd{}}. How near ranks come is up to the messages, too: by
///           threshold, to its limit. The step must be tuned, the lower the less is sent: 0.04 for
///           the largest of a hundred entries, 0.01 for one drawn at random, 0.45 for signs, 0.34
///           for codes of 4 bits are the authors'
///   cost    20 bytes a parameter
///   errors  invalid_option: a step that is not above 0 and at most 1
///   source  Koloskova et al. 2019, Decentralized stochastic optimization and gossip algorithms
///           with compressed communication, arXiv:1902.00340
struct choco {
    double step = 0.04;  // how far parameters move towards copies, in (0, 1]

    static constexpr bool by_copies = true;
    struct state {};
    state bind(const layout&) const;
    void describe(auto&& field) const { field("step", step); }
};

}  // namespace sotto::mixing

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/gossip/mixing/choco.ipp"
#endif
