// Pages for the chunks that a recorder will claim next, asked for on a thread of the host: a fresh page costs the one
// who first touches it a microsecond or two, as much as dozens of traced calls.
//
// Only on a tmpfs, and only until the ring has gone round once. What is ahead grows with what was used, so that a
// program which calls little costs little memory; it ends where memory is short. The recorder asks for its pages all
// the same: it relies on nothing here, and it is the recorder who finds out that the file system is full.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "abi/strobe_abi.h"

namespace strobe {

class ChunkSupply {
  public:
    // Throws as Segment does where the file is none.
    explicit ChunkSupply(const std::string& path);
    ~ChunkSupply() { stop(); }
    ChunkSupply(const ChunkSupply&) = delete;
    ChunkSupply& operator=(const ChunkSupply&) = delete;

    // Ends the thread; the file is touched no more. May be called more than once.
    void stop();

  private:
    // `made`: the header as the host wrote it; the target may write over its own.
    void run(const std::string& path, const strobe_header& made);
    // Waits; false when it is to end.
    bool pause(int milliseconds);

    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace strobe
