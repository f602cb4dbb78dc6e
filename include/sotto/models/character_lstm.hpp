#pragma once

#include <cstdint>
#include <utility>

#include "sotto/losses/cross_entropy.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/embedding.hpp"
#include "sotto/nn/lstm.hpp"
#include "sotto/nn/rowwise.hpp"

/// Built-in models, each a predictor.
namespace sotto::models {}  // namespace sotto::models

namespace sotto::detail::models {
inline auto character_lstm_layers(std::int64_t vocabulary, std::int64_t width, std::int64_t hidden,
                                  std::int64_t layers) {
    return sotto::nn::chain{
        sotto::nn::embedding{.vocabulary = vocabulary, .width = width},
        sotto::nn::lstm{.hidden = hidden, .layers = layers},
        sotto::nn::rowwise{sotto::nn::dense{.outputs = vocabulary, .start = nn::start::glorot}}};
}
}  // namespace sotto::detail::models

namespace sotto::models {

/// A language model that predicts the next character at each position:
/// `character_lstm model{65, {.length = 100}}`.
///   shape   an example: the numbers of `length` characters as floats, and as many labels: the next
///           characters.  embedding, lstm, dense: 1,083,969 parameters for 65 characters and the
///           default options
///   errors  invalid_option: a count below 1; a character outside the vocabulary
///   source  Graves 2013, Generating sequences with recurrent neural networks, arXiv:1308.0850
template <class Loss = cross_entropy>
class character_lstm
    : public sequential<decltype(detail::models::character_lstm_layers(1, 1, 1, 1)), Loss> {
public:
    /// Sizes of a character_lstm and of its examples.
    struct options {
        std::int64_t width = 256;   // of the vector of a character
        std::int64_t hidden = 256;  // of the state of each layer
        std::int64_t layers = 2;    // number of stacked LSTM layers
        std::int64_t length = 64;   // characters of an example
    };

    /// Creates a model for `vocabulary` different characters.
    explicit character_lstm(std::int64_t vocabulary, options chosen = {}, Loss criterion = {})
        : sequential<decltype(detail::models::character_lstm_layers(1, 1, 1, 1)), Loss>(
              {chosen.length, 1, 1},
              detail::models::character_lstm_layers(vocabulary, chosen.width, chosen.hidden,
                                                    chosen.layers),
              std::move(criterion), chosen.length) {}
};

}  // namespace sotto::models
