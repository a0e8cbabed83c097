/** Variables of the program, written from inside: each aligned word atomically, which no write from another process promises. */

import { canPopulate, populateForWriting } from "./libc.js";
import type { Recorder } from "./recorder.js";

export interface StorePlace {
    address: string;
    size: number;
    masked: boolean;
}

/** For each place "" or why nothing was written there. Throws where a signal of a fault, which somebody has sent, waits for the program. */
export function storeAll(places: StorePlace[], content: ArrayBuffer, deadline: number, recorder: Recorder): string[] {
    if (!recorder.beginStores()) throw new Error("SIGSEGV or SIGBUS is pending for the program");
    try {
        return storeEach(places, content, deadline, recorder);
    } finally {
        recorder.endStores();
    }
}

function storeEach(places: StorePlace[], content: ArrayBuffer, deadline: number, recorder: Recorder): string[] {
    const copy = Memory.alloc(Math.max(content.byteLength, 8));
    copy.writeByteArray(content);
    let offset = 0;
    return places.map(place => {
        const bytes = copy.add(offset);
        offset += place.masked ? 2 * place.size : place.size;
        // a process that was stopped meanwhile must not get a value that nobody waits for any more
        if (Date.now() > deadline) return "late";
        return storeOne(place, bytes, recorder);
    });
}

/** The host has seen that the place may be written; that it still may is asked of the kernel right before. */
function storeOne(place: StorePlace, bytes: NativePointer, recorder: Recorder): string {
    const address = ptr(place.address);
    if (canPopulate && !populateForWriting(address, place.size)) return "refused";
    const done = place.masked
        ? recorder.storeBits(address, bytes, bytes.add(place.size), place.size)
        : recorder.store(address, bytes, place.size);
    return done ? "" : "refused";
}
