/**
 * Frida's agent hooks `exit` and unloads its scripts as soon as it is called, before the program's atexit functions and
 * destructors have run. It hooks `_exit` as well, which is early enough: its hook on `exit` is taken out.
 */

import type { Recorder } from "./recorder.js";

const JUMP_OPCODE = 0xe9;
const HOOKED_BYTES = 16;

export function recordUntilTheEnd(recorder: Recorder): void {
    const address = Module.findGlobalExportByName("exit");
    if (address === null || address.readU8() !== JUMP_OPCODE) return;
    const own = bytesOnDisk(address, HOOKED_BYTES);
    if (own !== null && new Uint8Array(own)[0] !== JUMP_OPCODE) recorder.writeCode(address, own);
}

/** What the file of the module has at this address; code of shared libraries is not relocated. */
function bytesOnDisk(address: NativePointer, count: number): ArrayBuffer | null {
    const mapped = Process.findRangeByAddress(address)?.file;
    const range = Process.findRangeByAddress(address);
    if (range === null || mapped === undefined) return null;
    const file = new File(mapped.path, "rb");
    file.seek(mapped.offset + address.sub(range.base).toInt32());
    const bytes = file.readBytes(count);
    file.close();
    return bytes;
}
