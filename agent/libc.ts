/**
 * The functions of the target's C library that the agent calls. All are resolved when the script loads: while a thread is
 * paused inside a constructor that dlopen runs, everything that ends in dlsym would block.
 */

const PROT_NONE = 0;
const PROT_READ = 1;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
const MREMAP_TO_PLACE = 3; // MREMAP_MAYMOVE | MREMAP_FIXED
const MAP_PRIVATE_ANONYMOUS = 0x22;
const MAP_FIXED_NOREPLACE = 0x100000;
const PROT_READ_EXEC = 5;
const O_RDONLY = 0;
const O_RDWR = 2;
const O_CLOEXEC = 0x80000;
const O_NOFOLLOW = Process.arch === "arm64" ? 0x8000 : 0x20000;
const IOLBF = 1;
const MADV_WIPEONFORK = 18;
const MADV_POPULATE_WRITE = 23;
const ATTRIBUTES_BYTES = 64; // pthread_attr_t
const SIGNAL_SET_BYTES = 128; // sigset_t
const PR_SET_PTRACER = 0x59616d61;

const glibc = Module.findGlobalExportByName("gnu_get_libc_version"); // nobody interposes it
const library = glibc === null ? null : Process.findModuleByAddress(glibc);

/** Of the C library, where it has it: a program may have a function of that name that does something else. */
export function globalExport(name: string): NativePointer {
    return library?.findExportByName(name) ?? Module.getGlobalExportByName(name);
}

/** Null where the C library has none. */
export function libraryExport(name: string): NativePointer | null {
    return library?.findExportByName(name) ?? null;
}

const open_ = new NativeFunction(globalExport("open"), "int", ["pointer", "int"]);
const fstatExport = Module.findGlobalExportByName("fstat"); // glibc has it from 2.33 on
const fstat = fstatExport === null ? null : new NativeFunction(fstatExport, "int", ["int", "pointer"]);
const close_ = new NativeFunction(globalExport("close"), "int", ["int"]);
const dup2 = new NativeFunction(globalExport("dup2"), "int", ["int", "int"]);
const mmap = new NativeFunction(globalExport("mmap"), "pointer", ["pointer", "size_t", "int", "int", "int", "int64"]);
const munmap = new NativeFunction(globalExport("munmap"), "int", ["pointer", "size_t"]);
const mprotect = new NativeFunction(globalExport("mprotect"), "int", ["pointer", "size_t", "int"]);
const munlock = new NativeFunction(globalExport("munlock"), "int", ["pointer", "size_t"]);
const mremap = new NativeFunction(globalExport("mremap"), "pointer", ["pointer", "size_t", "size_t", "int", "...", "pointer"]);
const madvise = new NativeFunction(globalExport("madvise"), "int", ["pointer", "size_t", "int"]);
const prctl = new NativeFunction(globalExport("prctl"), "int", ["int", "uint64", "uint64", "uint64", "uint64"]);
const processVmRead = new NativeFunction(
    globalExport("process_vm_readv"), "int64", ["int", "pointer", "uint64", "pointer", "uint64", "uint64"]);
const setvbuf = new NativeFunction(globalExport("setvbuf"), "int", ["pointer", "pointer", "int", "size_t"]);
const keyCreate = new NativeFunction(globalExport("pthread_key_create"), "int", ["pointer", "pointer"]);
const keyDelete = new NativeFunction(globalExport("pthread_key_delete"), "int", ["uint32"]);
const dlsym = new NativeFunction(globalExport("dlsym"), "pointer", ["pointer", "pointer"]);
const dladdr1 = Module.findGlobalExportByName("dladdr1");
const dlopen = new NativeFunction(globalExport("dlopen"), "pointer", ["pointer", "int"]);

function openFile(path: string, flags: number): number {
    const fd = open_(Memory.allocUtf8String(path), flags) as number;
    if (fd < 0) throw new Error(`cannot open ${path} in the target`);
    return fd;
}

function checkMapped(address: NativePointer, what: string): NativePointer {
    if (address.equals(ptr(-1))) throw new Error(`cannot map ${what} in the target`);
    return address;
}

/** Whether that is the file with this number; where the C library cannot say, it is taken for it. */
export function isInode(fd: number, inode: string): boolean {
    const status = Memory.alloc(256);
    if (fstat === null) return true;
    return fstat(fd, status) === 0 && status.add(8).readU64().equals(uint64(inode)); // st_ino, of both CPUs
}

/**
 * Maps a whole file for reading and writing, shared; outlives the script. `inode`: of the file that the host has made there. `place`:
 * what is there is replaced; NULL: anywhere.
 */
export function mapShared(path: string, bytes: number, inode: string, place: NativePointer): NativePointer {
    const fd = openFile(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (!isInode(fd, inode)) {
        close_(fd);
        throw new Error(`${path} is another file in the target than it is for Strobe (a container?)`);
    }
    // Without access nothing is brought in where the program has all that it maps locked (mlockall, MCL_FUTURE).
    const address = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, 0) as NativePointer;
    close_(fd);
    checkMapped(address, path);
    munlock(address, bytes);
    if (mprotect(address, bytes, PROT_READ_WRITE) !== 0) throw new Error(`cannot write to ${path} in the target`);
    if (place.isNull()) return address;
    return checkMapped(mremap(address, bytes, bytes, MREMAP_TO_PLACE, place) as NativePointer, path); // threads may be at work there
}

/** Maps the first page of a file, for others to see in /proc/PID/maps; outlives the script. */
export function mapMark(path: string): void {
    const fd = openFile(path, O_RDONLY);
    mmap(NULL, Process.pageSize, PROT_READ, MAP_SHARED, fd, 0);
    close_(fd);
}

/** Zeroed memory that outlives the script. */
export function mapAnonymous(bytes: number): NativePointer {
    return checkMapped(mmap(NULL, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0) as NativePointer, "memory");
}

/** Zeroed, and so again in each forked child. */
export function mapWipedInChildren(bytes: number): NativePointer {
    const memory = mapAnonymous(bytes);
    if (madvise(memory, bytes, MADV_WIPEONFORK) !== 0) throw new Error("the target's kernel cannot clear memory in children");
    return memory;
}

/** As mapAnonymous, at exactly this place; null when something is there. */
export function mapAnonymousAt(address: NativePointer, bytes: number): NativePointer | null {
    const flags = MAP_PRIVATE_ANONYMOUS | MAP_FIXED_NOREPLACE;
    const mapped = mmap(address, bytes, PROT_READ_WRITE, flags, -1, 0) as NativePointer;
    if (mapped.equals(address)) return mapped;
    if (!mapped.equals(ptr(-1))) munmap(mapped, bytes); // kernels before 4.17 take the address for a hint
    return null;
}

export function unmap(address: NativePointer, bytes: number): void {
    munmap(address, bytes);
}

/** No more to be written, from now on to be executed. */
export function makeExecutable(address: NativePointer, bytes: number): void {
    if (mprotect(address, bytes, PROT_READ_EXEC) !== 0) throw new Error("the target may not execute new code");
}

/** Whether the pages may be written at this moment, which they then can without a fault. Changes no byte. */
export function populateForWriting(address: NativePointer, bytes: number): boolean {
    const page = ptr(Process.pageSize).sub(1);
    const start = address.and(page.not());
    const size = address.add(bytes).sub(start).add(page).and(page.not()).toUInt32();
    return madvise(start, size, MADV_POPULATE_WRITE) === 0;
}

export function closeDescriptor(number: number): void {
    close_(number);
}

/** The program's standard input becomes this file. */
export function redirectStandardInput(path: string): void {
    const fd = openFile(path, O_RDONLY);
    dup2(fd, 0);
    if (fd !== 0) close_(fd);
}

/** A pipe makes stdout block-buffered, and a crash would lose what was printed; whole lines survive it. */
export function bufferStandardOutputByLine(): void {
    const stream = Module.findGlobalExportByName("stdout");
    if (stream !== null && !stream.readPointer().isNull()) setvbuf(stream.readPointer(), NULL, IOLBF, 0);
}

export function createThreadKey(destructor: NativePointer): number {
    const place = Memory.alloc(4);
    if (keyCreate(place, destructor) !== 0) throw new Error("the target has no thread key left");
    return place.readU32();
}

export function deleteThreadKey(key: number): void {
    keyDelete(key);
}

/**
 * `handler` runs in each child that fork makes, for as long as the process lives. pthread_atfork is not a function that a loader could
 * find in glibc, but what it calls is.
 */
export function callInForkedChildren(handler: NativePointer): void {
    const glibc = Module.findGlobalExportByName("__register_atfork");
    if (glibc !== null) {
        new NativeFunction(glibc, "int", ["pointer", "pointer", "pointer", "pointer"])(NULL, NULL, handler, NULL);
        return;
    }
    const other = Module.findGlobalExportByName("pthread_atfork");
    if (other !== null) new NativeFunction(other, "int", ["pointer", "pointer", "pointer"])(NULL, NULL, handler);
}

/**
 * Ends the process as the C library does with its last thread: by exit(0), on a thread that takes signals. A thread that has ended with
 * another code has done so without the library, and then the process ends without it, too.
 */
export function endProgram(code: number): void {
    if (code !== 0) new NativeFunction(globalExport("_exit"), "void", ["int"])(code);
    const thread = Memory.alloc(8);
    const attributes = Memory.alloc(ATTRIBUTES_BYTES);
    new NativeFunction(globalExport("pthread_attr_init"), "int", ["pointer"])(attributes);
    const setMask = Module.findGlobalExportByName("pthread_attr_setsigmask_np");
    if (setMask !== null) new NativeFunction(setMask, "int", ["pointer", "pointer"])(attributes, Memory.alloc(SIGNAL_SET_BYTES));
    const create = new NativeFunction(globalExport("pthread_create"), "int", ["pointer", "pointer", "pointer", "pointer"]);
    if (create(thread, attributes, globalExport("exit"), NULL) !== 0)
        new NativeFunction(globalExport("exit"), "void", ["int"])(0);
}

/** Loads a shared library as the program itself would, for good; null where that fails. */
export function loadLibrary(name: string): NativePointer | null {
    const RTLD_NOW = 2;
    const handle = dlopen(Memory.allocUtf8String(name), RTLD_NOW) as NativePointer;
    return handle.isNull() ? null : handle;
}

/** Keeps a library that is loaded already: it is unmapped no more. Others are not loaded. */
export function keepLibrary(name: string): void {
    const RTLD_NOW = 2, RTLD_NOLOAD = 4, RTLD_NODELETE = 0x1000; // of glibc and musl
    dlopen(Memory.allocUtf8String(name), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

export function librarySymbol(handle: NativePointer, name: string): NativePointer {
    const address = dlsym(handle, Memory.allocUtf8String(name)) as NativePointer;
    if (address.isNull()) throw new Error(`the recorder's library has no ${name}`);
    return address;
}

/** Of the exported function at this address, in bytes; 0 where it is not known. */
export function symbolSize(address: NativePointer): number {
    const RTLD_DL_SYMENT = 1;
    if (dladdr1 === null) return 0;
    const found = Memory.alloc(40); // Dl_info, then a pointer to an Elf64_Sym
    const entry = found.add(32);
    const result = new NativeFunction(dladdr1, "int", ["pointer", "pointer", "pointer", "int"])(
        address, found, entry, RTLD_DL_SYMENT) as number;
    if (result === 0 || entry.readPointer().isNull()) return 0;
    return entry.readPointer().add(16).readU64().toNumber();
}

/** Linux has this from 5.14 on. */
export const canPopulate = populateForWriting(Memory.alloc(8), 8);

/** False where the system has no such thing, or there is no such process. What the program itself has allowed is replaced. 0: nobody any more. */
export function allowTracer(pid: number | UInt64): boolean {
    return prctl(PR_SET_PTRACER, pid, 0, 0, 0) === 0;
}

export function readOwnMemory(address: NativePointer, size: number): ArrayBuffer {
    const content = Memory.alloc(Math.max(size, 8));
    const spans = Memory.alloc(32);
    spans.writePointer(content).add(8).writeU64(size);
    spans.add(16).writePointer(address).add(8).writeU64(size);
    const count = Number(processVmRead(Process.id, spans, 1, spans.add(16), 1, 0));
    return content.readByteArray(Math.max(count, 0)) as ArrayBuffer;
}
