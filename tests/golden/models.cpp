#include <doctest/doctest.h>

#include <string>

#include "golden/lines.hpp"
#include "sotto/checkpoint/detail/former_names.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/models/character_lstm.hpp"
#include "sotto/models/lenet.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/models/residual_cnn.hpp"
#include "sotto/models/softmax_regression.hpp"
#include "sotto/nn/average_pool2d.hpp"
#include "sotto/nn/batch_norm.hpp"
#include "sotto/nn/conv2d.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/drop_connect.hpp"
#include "sotto/nn/dropout.hpp"
#include "sotto/nn/embedding.hpp"
#include "sotto/nn/highway.hpp"
#include "sotto/nn/lstm.hpp"
#include "sotto/nn/max_pool2d.hpp"
#include "sotto/nn/relu.hpp"

using namespace sotto;

namespace {

template <class... Models>
std::string texts_of(const Models&... models) {
    std::string all;
    ((all += sotto::detail::description{}.add("strategy", models).text() + "\n"), ...);
    return all;
}

}  // namespace

// A checkpoint holds its model's text. The file has those of commit 3f09fcb5.
TEST_CASE("golden: models' texts of old checkpoints, with today's names -> those of today") {
    testing::check_lines(
        texts_of(models::softmax_regression{4, 3}, models::mlp{4, 3, 2}, models::lenet{},
                 models::residual_cnn{}, models::character_lstm{7}) +
            texts_of(nn::dense{2}, nn::lstm{3}, nn::embedding{5, 2}, nn::batch_norm{},
                     nn::dropout{}, nn::drop_connect{}, nn::average_pool2d{}, nn::conv2d{2},
                     nn::max_pool2d{}, nn::relu{}, nn::highway{nn::dense{2}, nn::dense{2}}),
        "models.txt", detail::checkpoint::with_current_names);
}
