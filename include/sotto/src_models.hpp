#pragma once

// What built-in models and data sets compile once, beside src.hpp. Needs a CBLAS and zlib.
// One source file of a program includes it, and all of its source files are compiled with
// -D SOTTO_SEPARATE_COMPILATION: they see declarations alone, and compile in less time.
// Written by: cmake -P cmake/update_headers.cmake

#ifndef SOTTO_SEPARATE_COMPILATION
#error "sotto/src_models.hpp is for programs that are compiled with -D SOTTO_SEPARATE_COMPILATION"
#endif

#include "sotto/data/detail/cifar10.ipp"
#include "sotto/data/detail/gunzip.ipp"
#include "sotto/data/detail/idx.ipp"
#include "sotto/data/detail/pen.ipp"
#include "sotto/data/detail/read_file.ipp"
#include "sotto/data/digits.ipp"
#include "sotto/data/dirichlet_split.ipp"
#include "sotto/data/labelled_set.ipp"
#include "sotto/data/noisy_labels.ipp"
#include "sotto/data/read_cifar10.ipp"
#include "sotto/data/read_idx.ipp"
#include "sotto/data/read_text.ipp"
#include "sotto/data/text_set.ipp"
#include "sotto/data/vocabulary.ipp"
#include "sotto/models/residual_cnn.ipp"
#include "sotto/nn/average_pool2d.ipp"
#include "sotto/nn/batch_norm.ipp"
#include "sotto/nn/blueprint.ipp"
#include "sotto/nn/conv2d.ipp"
#include "sotto/nn/dense.ipp"
#include "sotto/nn/detail/affine.ipp"
#include "sotto/nn/detail/blas.ipp"
#include "sotto/nn/detail/blas_memory.ipp"
#include "sotto/nn/detail/direct_convolution.ipp"
#include "sotto/nn/detail/im2col.ipp"
#include "sotto/nn/detail/lstm_layer.ipp"
#include "sotto/nn/detail/option_a_shortcut.ipp"
#include "sotto/nn/detail/rows.ipp"
#include "sotto/nn/detail/zero_padded.ipp"
#include "sotto/nn/drop_connect.ipp"
#include "sotto/nn/dropout.ipp"
#include "sotto/nn/embedding.ipp"
#include "sotto/nn/global_average_pool.ipp"
#include "sotto/nn/lstm.ipp"
#include "sotto/nn/max_pool2d.ipp"
#include "sotto/nn/relu.ipp"
#include "sotto/nn/shape.ipp"
#include "sotto/nn/sigmoid.ipp"
#include "sotto/nn/tanh.ipp"
