#pragma once

// Built-in models, data sets and measurements of models. They multiply matrices with a CBLAS and
// read gzipped data through zlib: link sotto::models or sotto::compiled_models. Larger models have
// separate headers:
//   sotto/models/lenet.hpp, residual_cnn.hpp, character_lstm.hpp

#include "sotto/data/augmented.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/data/dirichlet_split.hpp"
#include "sotto/data/noisy_labels.hpp"
#include "sotto/data/read_cifar10.hpp"
#include "sotto/data/read_idx.hpp"
#include "sotto/data/read_text.hpp"
#include "sotto/models/churn.hpp"
#include "sotto/models/ensemble.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/models/softmax_regression.hpp"
