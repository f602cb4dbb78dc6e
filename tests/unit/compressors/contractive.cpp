#include "sotto/compressors/contractive.hpp"

#include <doctest/doctest.h>

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/ef21.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/power_sgd.hpp"
#include "sotto/compressors/qsgd.hpp"
#include "sotto/compressors/random_k.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/terngrad.hpp"
#include "sotto/compressors/top_k.hpp"

using namespace sotto;

static_assert(contractive<top_k> && contractive<random_k> && contractive<scaled_sign>);
static_assert(contractive<none> && contractive<sparsified<top_k, no_memory>>);
static_assert(unbiased<qsgd> && unbiased<terngrad> && !contractive<qsgd> && !contractive<terngrad>);
static_assert(remembers<dgc> && remembers<sparsified<top_k, residual>> && remembers<power_sgd>);
static_assert(remembers<error_feedback<top_k>> && remembers<ef21<top_k>>);
static_assert(!remembers<sparsified<top_k, no_memory>> && !contractive<dgc>);

TEST_CASE("what no memory may be built on is known at compile time") {
    CHECK_FALSE(contractive<error_feedback<scaled_sign>>);
    CHECK_FALSE(contractive<ef21<scaled_sign>>);
    CHECK_FALSE(contractive<int>);
}
