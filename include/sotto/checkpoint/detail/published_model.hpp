#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/checkpoint/detail/architecture.hpp"
#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/core/layout.hpp"

namespace sotto::detail::checkpoint {

/// Recent loss of another group's model on the data of the publishing group.
struct judgement {
    int group = 0;            // group whose model was evaluated
    double label_loss = 0.0;  // mean loss on the labels

    friend bool operator==(const judgement&, const judgement&) = default;
};

/// Facts about a published model that need no weights.
struct published_facts {
    std::int64_t step = 0;            // step of its training
    double label_loss = 0.0;          // recent loss on its training data; not finite if unknown
    std::string group{};              // the group that trained it
    digest architecture{};            // `identity` of its `architecture`
    std::vector<judgement> judged{};  // evaluations of other groups' models
    std::string deal{};  // distribution of data to groups, from data::deal_of; empty if unknown
};

/// Writes a model at some step, for others to read: all of its function, without training state.
/// The folder keeps the newest `keep` models.
///   wire    a safetensors file as file_writer writes it: parameters/NAME, then buffers/rank0/NAME;
///           metadata format = sotto.model, format.version = 1, step, label_loss, group,
///           architecture, judged if there is any ("GROUP:LOSS ..."), deal if it is known, digests.
///           It appears whole or not at all
///   cost    writes the model once, synced; reads nothing
///   errors  returns the failure, or an empty text; existing models stay on failure
std::string publish_model(const disk& files, const std::string& folder, const architecture& kind,
                          const published_facts& facts, std::span<const float> parameters,
                          std::span<const float> buffers, std::int64_t keep = 2);

/// A model that was read from a folder of published models.
struct published_model {
    published_facts facts;                   // facts that need no weights
    std::vector<float> parameters, buffers;  // in the order of the `architecture`
};

/// Reads "GROUP:LOSS GROUP:LOSS"; returns nothing for other texts.
std::optional<std::vector<judgement>> read_judgements(std::string_view text);

/// Reads the newest whole model of a folder. Returns nothing if there is none, or if its step is
/// `after`. A newest model of an earlier step counts too: its writer has restarted. The reader
/// never waits for the writer: it reads the model before a damaged or unreadable one. If a model
/// was removed since the listing, the reader finds a newer one.
///   cost    reads the file twice, once to check it
///   errors  mismatch: the file is not a published model, or of another architecture, naming both;
///           io_failure: the folder cannot be listed, or no file is whole and can be read
std::optional<published_model> read_published(const disk& files, const std::string& folder,
                                              const architecture& kind, std::int64_t after = -1);

/// Facts about the models in a folder, without their weights.
struct published_survey {
    std::optional<published_facts> newest{};  // facts of the newest whole model
    bool is_finite = true;                    // all its values are finite
    std::int64_t bytes = 0;                   // bytes of its file
    std::int64_t kept = 0;                    // number of models, whole or not
    std::vector<refused_file> torn{};         // newer models, damaged or unreadable
};

/// Reads the facts about a folder of published models, of any architecture.
///   cost    reads the newest whole file twice, once to check it, and damaged ones once; memory for
///           the largest tensor
///   errors  mismatch: a file is not a published model; io_failure: the folder cannot be listed
published_survey survey_published(const disk& files, const std::string& folder);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/published_model.ipp"
#endif
