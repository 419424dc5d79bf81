// SPDX-License-Identifier: Apache-2.0
// Owns the precompiled header that every test without LibTorch shares.
