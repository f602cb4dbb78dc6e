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

/// How another group's model did, lately, on the data of the group that publishes.
struct judgement {
    int group = 0;            // whose model it was
    double label_loss = 0.0;  // its mean loss on the labels

    friend bool operator==(const judgement&, const judgement&) = default;
};

/// What is known of a published model without reading its weights.
struct published_facts {
    std::int64_t step = 0;    // of those who trained it
    double label_loss = 0.0;  // lately, on what it trains on; not finite where that is not known
    std::string group{};      // who they are
    digest architecture{};    // of what can stand for it: `identity` of its `architecture`
    std::vector<judgement> judged{};  // of those whose models it has seen
    std::string deal{};  // how data were dealt to groups, as data::deal_of says; not known: empty
};

/// A model as it was at some step, for others to read: all of its function and nothing of how it is
/// trained. Beside it in the folder are its predecessors, of which all but the newest `keep` go.
///   wire    a safetensors file as file_writer writes it: parameters/NAME, then buffers/rank0/NAME;
///           metadata format = sotto.model, format.version = 1, step, label_loss, group,
///           architecture, judged if there is any ("GROUP:LOSS ..."), deal if it is known, digests.
///           It appears whole or not at all
///   cost    the model once, synced; nothing is read
///   errors  the answer says what failed, and is empty where nothing did; what was there still is
std::string publish_model(const disk& files, const std::string& folder, const architecture& kind,
                          const published_facts& facts, std::span<const float> parameters,
                          std::span<const float> buffers, std::int64_t keep = 2);

/// What a reader found in a folder of published models.
struct published_model {
    published_facts facts;                   // what is known without the weights
    std::vector<float> parameters, buffers;  // as `architecture` names them
};

/// "GROUP:LOSS GROUP:LOSS"; nothing for other texts.
std::optional<std::vector<judgement>> read_judgements(std::string_view text);

/// Reads the newest whole model of a folder; nothing where there is none, or where that of step
/// `after` is the newest. One that is older than it counts, too: who writes there has begun anew.
/// Never waits for who writes there: instead of a file that is damaged or unreadable the one before
/// is taken, and one that is removed meanwhile has a newer one beside it.
///   cost    the file is read twice, once to be checked
///   errors  mismatch: it is no published model, or of another architecture, naming both;
///           io_failure: the folder cannot be listed, or no file is whole and can be read
std::optional<published_model> read_published(const disk& files, const std::string& folder,
                                              const architecture& kind, std::int64_t after = -1);

/// What is known of the models in a folder, without keeping their weights.
struct published_survey {
    std::optional<published_facts> newest{};  // of the newest whole one
    bool is_finite = true;                    // all that it consists of
    std::int64_t bytes = 0;                   // of its file
    std::int64_t kept = 0;                    // models, whole or not
    std::vector<refused_file> torn{};         // those newer than it, damaged or unreadable
};

/// Looks at a folder of published models, of whatever architecture.
///   cost    the newest whole file is read twice, once to be checked, and those that are torn once;
///           memory for the largest tensor
///   errors  mismatch: it is no published model; io_failure: the folder cannot be listed
published_survey survey_published(const disk& files, const std::string& folder);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/published_model.ipp"
#endif
