// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/backend.h"

#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <array>

#include "base/error.h"
#include "device/cuda/counted_pool.h"
#include "device/cuda/probe_kernels.h"
#include "device/cuda/runtime.h"

namespace myxtts {
namespace {

CudaDevice describe(int index) {
  const std::string doing = fmt::format("asking cuda:{} for its properties", index);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), doing);
  std::array<char, 32> bus_id{};
  check(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), index), doing);
  return {.index = index,
          .name = properties.name,
          .pci_bus_id = bus_id.data(),
          .multiprocessors = properties.multiProcessorCount,
          .capability_major = properties.major,
          .capability_minor = properties.minor,
          .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem)};
}

class Backend final : public CudaBackend {
 public:
  explicit Backend(const CudaKernels& kernels) : kernels_(kernels) {}

  int runtime_version() const override {
    int version = 0;
    check(cudaRuntimeGetVersion(&version), "asking for the version of its runtime");
    return version;
  }

  int driver_version() const override {
    int version = 0;
    check(cudaDriverGetVersion(&version), "asking for the version of its driver");
    return version;
  }

  std::vector<CudaDevice> devices() const override {
    int count = 0;
    if (cudaError_t result = cudaGetDeviceCount(&count); result != cudaErrorNoDevice) {
      check(result, "counting the GPUs");
    }
    std::vector<CudaDevice> found;
    for (int index = 0; index < count; ++index) found.push_back(describe(index));
    return found;
  }

  int libtorch_device_count() const override { return c10::cuda::device_count(); }

  void self_test(int device) const override {
    const DeviceScope on(device);
    std::vector<std::uint32_t> numbers(100'000);
    check(run_self_test_kernel(numbers), "running a test kernel");
    for (std::uint32_t index = 0; index < numbers.size(); ++index) {
      if (numbers[index] == expected_self_test_number(index)) continue;
      throw DeviceError(fmt::format("it computes wrongly: number {} of a test kernel is {}, not {}",
                                    index, numbers[index], expected_self_test_number(index)));
    }
  }

  std::unique_ptr<RoleDevice> open_role(Role role, const RolePlan& plan) const override {
    return open_cuda_role_device(role, plan);
  }

  std::vector<int> multiprocessors_of(const Stream& stream) const override {
    const DeviceScope on(stream.gpu);
    std::vector<int> found;
    check(probe_multiprocessors(static_cast<cudaStream_t>(stream.native), found),
          fmt::format("looking which multiprocessors of cuda:{} work", stream.gpu));
    return found;
  }

  const RoleMemory* owner_of(const void* address) const override {
    return counted_owner_of(address);
  }

  std::string make_communicator_id() const override { return make_nccl_id(); }

  std::unique_ptr<GpuCommunicator> join_gpus(const std::string& id, int gpu, int rank,
                                             int size) const override {
    return join_with_nccl(id, gpu, rank, size);
  }

  const CudaKernels& kernels() const override { return kernels_; }

 private:
  const CudaKernels& kernels_;
};

}  // namespace

std::unique_ptr<const CudaBackend> make_cuda_backend(const CudaKernels& kernels) {
  return std::make_unique<Backend>(kernels);
}

}  // namespace myxtts
