#pragma once

#include "sotto/checkpoint/detail/published_model.hpp"

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL digest architecture::identity() const {
    std::string text = description;
    for (const layout* tensors : {&parameters, &buffers}) {
        text += '\f';
        for (const tensor& t : *tensors) {
            text.append(t.name);
            for (const std::int64_t extent : t.shape) (text += ' ') += std::to_string(extent);
            text += '\n';
        }
    }
    return digest_of(std::as_bytes(std::span(text)));
}

SOTTO_DECL std::optional<std::vector<judgement>> read_judgements(std::string_view text) {
    std::vector<judgement> all;
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find(' '));
        text.remove_prefix((std::min)(one.size() + 1, text.size()));
        const std::string group(one.substr(0, one.find(':')));
        const std::string loss(one.substr((std::min)(group.size() + 1, one.size())));
        judgement read;
        if (!read_number(&group, read.group) || !read_number(&loss, read.label_loss))
            return std::nullopt;
        all.push_back(read);
    }
    return all;
}

}  // namespace sotto::detail::checkpoint
