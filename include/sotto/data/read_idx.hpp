#pragma once

#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"
#include "sotto/data/detail/idx.hpp"
#include "sotto/data/labelled_set.hpp"

namespace sotto::data {

/// Unpacks a gzipped IDX file.
///   cost    memory for exactly the size in the inner header. The header is rejected if the packed
///           bytes cannot hold that much: deflate makes at most 1032 bytes of one
///   errors  faults as in gunzip and parse_idx_header. Offsets in the header are within the
///           unpacked bytes
result<bytes> unpack_idx(byte_view packed);

/// Parses an IDX file, gzipped or not. Replaces `file` by its unpacked bytes.
result<detail::data::idx_array> parse_idx_file(bytes& file);

/// Reads a labelled image set, such as MNIST, from two IDX files, each gzipped or not.
///   shape   images: count x height x width, or count x channels x height x width;  labels: count.
///           Pixels stay bytes in memory; the default `meaning` maps them to [0, 1]
///   errors  io_failure: a file that cannot be read;  malformed, naming the file: see
///           parse_idx_file, a wrong rank, images without pixels, different numbers of images and
///           labels
labelled_set read_idx(const std::string& images_path, const std::string& labels_path,
                      detail::data::byte_scale meaning = {});

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/read_idx.ipp"
#endif
