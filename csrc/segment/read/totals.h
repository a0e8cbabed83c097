// The exact totals per function and thread that the recorder keeps.
#pragma once

#include <functional>

#include "segment/file/segment.h"

namespace strobe {

// Every valid entry, copied out in blocks; entries appear in the order they were handed out, not sorted.
void for_each_totals(const Segment& segment, const std::function<void(const strobe_totals&)>& visit);

}  // namespace strobe
