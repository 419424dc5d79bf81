// SPDX-License-Identifier: Apache-2.0
// Owns the precompiled header that every target without LibTorch shares.
