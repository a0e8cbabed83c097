/**
 * glibc's lock on its list of libraries, which dl_iterate_phdr holds. It has no name of its own; it lies in `_rtld_global`, and is the one
 * recursive mutex there that this thread holds while it is called back.
 */

const RECURSIVE = 1; // PTHREAD_MUTEX_RECURSIVE_NP
const STEP = 8;
const MUTEX_BYTES = 24;
const SEARCHED = 8192;

/** NULL where it is not found. */
export function loaderLock(): NativePointer {
    const linker = Module.findGlobalExportByName("_rtld_global");
    const iterate = Module.findGlobalExportByName("dl_iterate_phdr");
    const range = linker === null ? null : Process.findRangeByAddress(linker);
    if (linker === null || iterate === null || range === null) return NULL;
    const bytes = Math.min(range.base.add(range.size).sub(linker).toInt32(), SEARCHED);
    const own = Process.getCurrentThreadId();
    let found = NULL;
    const look = new NativeCallback(() => {
        found = search(linker, bytes, own);
        return 1; // enough
    }, "int", ["pointer", "size_t", "pointer"]);
    // nobody else has the agent's lock meanwhile: they could wait for this one
    new NativeFunction(iterate, "int", ["pointer", "pointer"], { scheduling: "exclusive" })(look, NULL);
    return found;
}

/** A mutex: lock, count, owner, users, kind. */
function search(start: NativePointer, bytes: number, owner: number): NativePointer {
    const words = new Uint32Array(start.readByteArray(bytes - (bytes % STEP)) as ArrayBuffer);
    for (let at = 0; at + MUTEX_BYTES <= bytes; at += STEP) {
        const [lock, count, holder, , kind] = words.subarray(at / 4, at / 4 + 5);
        if (lock !== 0 && count === 1 && holder === owner && kind === RECURSIVE) return start.add(at);
    }
    return NULL;
}
