#pragma once

// The built-in models, data sets and what is measured of models. They multiply matrices by a CBLAS
// and read gzipped data through zlib: link sotto::models or sotto::compiled_models. The larger
// models have headers of their own beside this one:
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
