/** Memory within reach of a `jmp rel32` from the code that it serves. */

import { mapAnonymousAt } from "./libc.js";

const PAGE = 4096;
const REACH = 0x7ff00000; // of a rel32, less what a trampoline itself takes
const LOWEST = 0x10000; // vm.mmap_min_addr

interface Gap {
    start: NativePointer;
    end: NativePointer;
}

/** Zeroed and writable; every byte of it can reach [low, high). Throws where all is taken. */
export function mapNear(low: NativePointer, high: NativePointer, bytes: number): NativePointer {
    const size = Math.ceil(bytes / PAGE) * PAGE;
    const lowest = high.compare(ptr(REACH)) > 0 ? high.sub(REACH) : ptr(LOWEST);
    const highest = low.add(REACH);
    for (const place of candidates(low, size, lowest, highest)) {
        const mapped = mapAnonymousAt(place, size);
        if (mapped !== null) return mapped;
    }
    throw new Error("no memory near the function is free");
}

/**
 * Below the code first: above a program lies its heap, which wants to grow. There at the upper end of each gap, above it at the upper
 * end, too, away from what ends where the gap begins.
 */
function* candidates(low: NativePointer, size: number, lowest: NativePointer, highest: NativePointer): Generator<NativePointer> {
    const all = gaps();
    const below = all.filter(gap => gap.end.compare(low) <= 0).reverse();
    const above = all.filter(gap => gap.start.compare(low) > 0);
    for (const gap of [...below, ...above]) {
        const start = gap.start.compare(lowest) < 0 ? lowest : gap.start;
        const end = gap.end.compare(highest) > 0 ? highest : gap.end;
        if (end.compare(start) <= 0 || end.sub(size).compare(start) < 0) continue;
        yield end.sub(size).and(ptr(PAGE - 1).not());
    }
}

function gaps(): Gap[] {
    let end = ptr(LOWEST);
    const found: Gap[] = [];
    for (const line of File.readAllText("/proc/self/maps").split("\n")) {
        const match = /^([0-9a-f]+)-([0-9a-f]+) /.exec(line);
        if (match === null) continue;
        const start = ptr(`0x${match[1]}`);
        if (start.compare(end) > 0) found.push({ start: end, end: start });
        end = ptr(`0x${match[2]}`);
    }
    return found;
}
