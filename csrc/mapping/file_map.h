// A file mapped for reading that somebody may truncate at any time, as a build does with the program it replaces.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strobe {

// Pages behind the file's new end would end the process (SIGBUS). A handler puts zeros in their place instead, for
// maps of this class alone; any other fault goes to who handled it before. May be shared by threads.
class FileMap {
  public:
    // The whole file as long as it is now; the descriptor is not needed later. `shared`: others write it, and that is
    // to be seen. Throws std::system_error, also where thousands of files are mapped already.
    explicit FileMap(int descriptor, bool shared = false);
    ~FileMap();
    FileMap(const FileMap&) = delete;
    FileMap& operator=(const FileMap&) = delete;

    const uint8_t* data() const { return data_; }
    size_t size() const { return size_; }
    // Whether something was read that is no longer in the file.
    bool was_cut() const;

  private:
    const uint8_t* data_ = nullptr;
    size_t size_ = 0;
    size_t slot_ = 0;
};

}  // namespace strobe
