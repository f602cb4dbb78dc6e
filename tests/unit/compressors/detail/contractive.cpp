#include "sotto/compressors/detail/contractive.hpp"

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

static_assert(detail::contractive<top_k> && detail::contractive<random_k> &&
              detail::contractive<scaled_sign>);
static_assert(detail::contractive<none> && detail::contractive<sparsified<top_k, no_memory>>);
static_assert(detail::unbiased<qsgd> && detail::unbiased<terngrad> && !detail::contractive<qsgd> &&
              !detail::contractive<terngrad>);
static_assert(detail::remembers<dgc> && detail::remembers<sparsified<top_k, residual>> &&
              detail::remembers<power_sgd>);
static_assert(detail::remembers<error_feedback<top_k>> && detail::remembers<ef21<top_k>>);
static_assert(!detail::remembers<sparsified<top_k, no_memory>> && !detail::contractive<dgc>);

TEST_CASE("what no memory may be built on is known at compile time") {
    CHECK_FALSE(detail::contractive<error_feedback<scaled_sign>>);
    CHECK_FALSE(detail::contractive<ef21<scaled_sign>>);
    CHECK_FALSE(detail::contractive<int>);
}
