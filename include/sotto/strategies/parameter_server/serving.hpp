#pragma once

#include <cstdint>
#include <string>

namespace sotto {

/// Which ranks serve: 0 to servers - 1. They also work, unless they are dedicated.
struct serving {
    int servers = 1;         // ranks that serve
    bool dedicated = false;  // whether these do nothing else
    /// Workers may die, leave and come again, and servers come again, while the others go on; where
    /// the transport can. A worker then waits `patience` seconds for a server. Time in which the
    /// worker itself is halted does not count. What it was pushing when the server ended it pushes
    /// again, as a gradient at the parameters that it then reads. What a server had
    /// taken since its last checkpoint is lost; fit_report::losses says how many rounds of a rank
    /// that were. A server whose workers have all failed waits `patience` for one of them, too. A
    /// worker that is started again goes on in the call of `fit` under way with what its program
    /// gives to its first call: in a later call, leave the earlier ones out of that program.
    bool survives = false;
    double patience = 60.0;  // seconds; see survives
    /// Where each server saves what it holds, in a folder of its own and every so many of its
    /// steps, and from which it continues. Empty: a server saves nothing, and one that comes again
    /// begins from the start.
    std::string checkpoints{};
    std::int64_t every = 1000;  // steps of a server from one checkpoint to the next
    std::string job{};          // that owns these folders, see checkpoints::options::job
    /// `record_arrivals`: a file in which each server records the order of pushes and answers.
    /// `replay_arrivals`: a file whose order it follows: the same run then ends in the same
    /// parameters, bit for bit. Empty: neither. An existing file is overwritten. If a server can
    /// come again, each of its processes has a file: PATH, PATH.2 and so on, each from the
    /// version that the server then had. One file, or another server's,
    /// cannot be both: see shared_arrivals.
    std::string record_arrivals{};
    std::string replay_arrivals{};  // see record_arrivals

    void describe(auto&& field) const {
        field("servers", servers);
        field("dedicated", dedicated);
        field("survives", survives);
        field("patience", patience);
        field("every", every);
    }
};

}  // namespace sotto
