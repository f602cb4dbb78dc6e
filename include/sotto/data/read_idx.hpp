#pragma once

#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"
#include "sotto/data/detail/idx.hpp"
#include "sotto/data/labelled_set.hpp"

namespace sotto::data {

/// The bytes of an IDX file that came packed by gzip.
///   cost    memory for exactly what the header inside promises; a promise is believed only up to
///           what so many packed bytes can hold: deflate makes at most 1032 bytes of one
///   errors  faults as those of gunzip and parse_idx_header (offsets of the latter within the
///           unpacked bytes)
result<bytes> unpack_idx(byte_view packed);

/// The values of an IDX file, packed by gzip or not: `file` is replaced by its unpacked bytes.
result<detail::data::idx_array> parse_idx_file(bytes& file);

/// Reads a labelled image set, such as MNIST, from two IDX files, each packed by gzip or not.
///   shape   images: count x height x width, or count x channels x height x width;  labels: count
///           The bytes are kept; the default meaning spreads them over [0, 1].
///   errors  io_failure: a file that cannot be read;  malformed, naming the file: see
///           parse_idx_file, another rank, images without pixels, numbers of images and labels that
///           differ
labelled_set read_idx(const std::string& images_path, const std::string& labels_path,
                      detail::data::byte_scale meaning = {});

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/read_idx.ipp"
#endif
