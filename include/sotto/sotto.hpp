#pragma once

// Everything, in one include. Each header also stands alone: whoever needs only a compressor or an
// all-reduce includes that one and gets nothing else with it.

#include "sotto/collectives/all_gather_v.hpp"
#include "sotto/collectives/all_gather_values.hpp"
#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/barrier.hpp"
#include "sotto/collectives/broadcast.hpp"
#include "sotto/collectives/fitting.hpp"
#include "sotto/collectives/halving_doubling.hpp"
#include "sotto/collectives/reduce_scatter.hpp"
#include "sotto/collectives/ring.hpp"
#include "sotto/collectives/tree.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/random_k.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sampled_top_k.hpp"
#include "sotto/compressors/threshold.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/data/augmented.hpp"
#include "sotto/data/dataset.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/data/read_cifar10.hpp"
#include "sotto/data/read_text.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/clipped.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/scheduled.hpp"
#include "sotto/optimizers/schedules.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/advice_calibration.hpp"
#include "sotto/trainer/advice_link.hpp"
#include "sotto/trainer/early_stop.hpp"
#include "sotto/trainer/html_report.hpp"
#include "sotto/trainer/progress_bar.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/group.hpp"
#include "sotto/transports/in_process.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/version.hpp"

#if __has_include(<zlib.h>)
#include "sotto/data/read_idx.hpp"
#endif

// Models multiply matrices by a CBLAS; link sotto::models, or any BLAS, to use them.
#if __has_include(<cblas.h>)
#include "sotto/models/character_lstm.hpp"
#include "sotto/models/lenet.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/models/residual_cnn.hpp"
#include "sotto/models/softmax_regression.hpp"
#endif
