// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace myxtts::zip {

// The parts of the zip format that reader and writer share.
constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEndRecord = 0x06054b50;
constexpr std::uint32_t kEndRecord64 = 0x06064b50;
constexpr std::uint32_t kEndLocator64 = 0x07064b50;

constexpr std::size_t kLocalHeaderBytes = 30;
constexpr std::size_t kEndRecordBytes = 22;
constexpr std::size_t kEndRecord64Bytes = 56;
constexpr std::size_t kEndLocator64Bytes = 20;

constexpr std::uint16_t kExtra64 = 1;  // the extra field that holds 64-bit sizes
constexpr std::uint32_t kSeeExtra =
    0xffffffff;  // in a 32-bit field: the value is in the extra field
constexpr std::uint16_t kSeeRecord64 = 0xffff;  // in a 16-bit count: it is in the 64-bit end record

}  // namespace myxtts::zip
