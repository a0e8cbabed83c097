/**
 * Sets up the recorder (csrc/recorder) in the target. Native form: a library, called by trampolines of our own. Portable form, where that
 * library cannot be loaded: compiled by TinyCC, called by a guard that stays when it goes.
 */

import { CAPTURE } from "./abi.js";
import { SET_CANCEL_STATE } from "./scripts.js";
import { CodeChanges, type LeftChange } from "./code_changes.js";
import { Extras } from "./extras.js";
import { Observers, type ObservingForm } from "./observers.js";
import { cpuRoutines } from "./aarch64_routines.js";
import {
    allowTracer, createThreadKey, deleteThreadKey, globalExport, librarySymbol, loadLibrary, makeExecutable, mapAnonymous, mapMark, mapShared, unmap,
} from "./libc.js";
import { ProbeSites } from "./probe_sites.js";
import { ProcessHooks, type ToldChange } from "./process_hooks.js";
import { EntryTools } from "./trampolines.js";
import { Unwinding } from "./unwinding.js";

const RECORDER_BYTES = 4096;
const GUARD_BYTES = 4096;
/** What the host knows to write is a jump of x86-64. */
export const INTERCEPTOR_WRITES = Process.arch !== "x64";
export const STANDARD_UNWINDER = "libgcc_s.so.1";
const REGISTER_FRAME = "__register_frame";

export interface RecorderRequest {
    source: string;
    /** Path of the native form's library; empty: the portable form is wanted. */
    library: string;
    segmentPath: string;
    segmentBytes: number;
    /** Its inode's number, in digits. */
    segmentInode: string;
    /** From where to where the memory lies from which the agent was loaded, in digits; "0" where it was not seen. */
    loader: [string, string];
    /** The program is Strobe's own, and to be known as this session's even after the recorder has ended. */
    isOwnProgram: boolean;
}

export interface RecorderAnswer {
    form: "native" | "portable";
    catchesReturns: boolean;
    /** Interceptor writes the jumps, not the host: see trampolines.ts. */
    interceptorWrites: boolean;
    /** Address of struct strobe_recorder. */
    recorder: string;
    /** Jumps of an agent before this one, for the host to take back. */
    left: LeftChange[];
    /** Why it is not the native form; empty when it is, or when the portable one was wanted. */
    reason: string;
    /** The first number that this session gives to a function. */
    firstFunction: number;
}

export class Recorder {
    /** Null where threads keep their values of it: the next agent goes on with the same one. */
    private threadKey: number | null = null;
    private readonly end_: () => void;
    private isStopped = false;
    /** The agent goes, and the recorder does not. */
    goesOn = false;
    /** The host takes out what is observed, once no thread of the agent is there. */
    leavesObservers = false;
    private readonly setCaptures_: (first: number, count: number, captures: NativePointer) => void;
    private readonly setPlans_: (count: number, functions: NativePointer, plans: NativePointer) => void;
    private readonly setFlags_: (count: number, functions: NativePointer, flags: NativePointer) => void;
    private readonly addFlags_: (count: number, functions: NativePointer, flags: number) => void;
    private readonly setCallers_: (callers: NativePointer) => number;
    private readonly callers: { start: NativePointer; bytes: number }[] = [];
    readonly entries: EntryTools;
    /** Null in the portable form. */
    readonly sites: ProbeSites | null;
    /** Where trampolines lead: to the library, or to a guard that calls the compiled recorder; null where Interceptor writes the jumps. */
    readonly enter: NativePointer | null;
    private readonly letLeave_: () => NativeFunctionReturnValue;
    private readonly tracer: () => UInt64;
    private readonly setTracer: (tracer: UInt64) => void;
    /** Null where the next agent goes on with the same memory, or threads are not counted. */
    private release_: (() => void) | null;
    /** Since the session began. */
    readonly ticks: () => UInt64;
    /** A library came that the host will not learn of. */
    readonly noteUnreported: () => void;
    private readonly replaceCode_: (address: NativePointer, bytes: NativePointer, count: number) => number;
    /** 0 where the memory cannot be written. */
    readonly store: (address: NativePointer, bytes: NativePointer, count: number) => number;
    /** Before stores, and after them: 0 where a signal that would come to this thread waits for the program. */
    readonly beginStores: () => number;
    readonly endStores: () => void;
    readonly storeBits: (address: NativePointer, bytes: NativePointer, mask: NativePointer, count: number) => number;
    /** Null where Interceptor writes the jumps. */
    readonly observers: Observers | null;
    private readonly module: CModule;
    private readonly unwindTable: NativePointer;
    private readonly addUnwinder_: (registerFrame: NativePointer) => number;
    private readonly processHooks = new ProcessHooks();
    private changed: NativePointer | null = null;
    /** Once what an agent before this one has left is taken back. Gives what the host is to take back in the end. */
    readonly changeProcess: () => ToldChange[];
    /** False where Frida has not hooked what the dynamic linker calls. Known once the process is changed. */
    isToldOfLibraries = true;
    /** Calls when libraries have changed and the dynamic linker's state, which is at the address, is consistent; null: no more. */
    readonly callAtChanges: (state: NativePointer, changed: (() => void) | null) => void;
    readonly codeChanges: CodeChanges;
    private readonly forgetCode_: (start: UInt64, bytes: UInt64) => void;
    readonly extras: Extras;
    readonly unwinding: Unwinding;
    readonly answer: RecorderAnswer;

    constructor(request: RecorderRequest) {
        // the return stubs and what they use must outlive the script, so the state is not Memory.alloc'ed
        const state = mapAnonymous(RECORDER_BYTES);
        this.module = new CModule(request.source, { strobe_recorder: state, ...cpuRoutines() });
        const tools = this.module as unknown as Record<string, NativePointer>;
        const library = request.library === "" ? null : loadLibrary(request.library);
        const form = library === null ? tools : librarySymbols(library);
        this.entries = new EntryTools(tools);
        this.sites = library === null ? null : new ProbeSites(this, form, tools);
        this.replaceCode_ = new NativeFunction(form.strobe_agent_replace_code, "int", ["pointer", "pointer", "uint32"]);
        this.store = new NativeFunction(form.strobe_agent_store, "int", ["pointer", "pointer", "uint32"]);
        this.storeBits = new NativeFunction(
            form.strobe_agent_store_bits, "int", ["pointer", "pointer", "pointer", "uint32"]);
        this.beginStores = new NativeFunction(form.strobe_agent_begin_stores, "int", []);
        this.endStores = new NativeFunction(form.strobe_agent_end_stores, "void", []);
        this.forgetCode_ = new NativeFunction(form.strobe_agent_forget_code, "void", ["uint64", "uint64"]);
        this.end_ = new NativeFunction(form.strobe_agent_end, "void", []);
        this.setCaptures_ = new NativeFunction(form.strobe_agent_set_captures, "void", ["uint32", "uint32", "pointer"]);
        this.setPlans_ = new NativeFunction(form.strobe_agent_set_plans, "void", ["uint32", "pointer", "pointer"]);
        this.setFlags_ = new NativeFunction(form.strobe_agent_set_flags, "void", ["uint32", "pointer", "pointer"]);
        this.addFlags_ = new NativeFunction(form.strobe_agent_add_flags, "void", ["uint32", "pointer", "uint8"]);
        this.setCallers_ = new NativeFunction(form.strobe_agent_set_callers, "int", ["pointer"]);
        this.extras = new Extras(form);
        this.unwinding = new Unwinding(form);
        this.initialise(form, request);
        this.codeChanges = new CodeChanges(this, form);
        const isFirst = new NativeFunction(form.strobe_agent_has_thread_key, "int", [])() === 0;
        if (isFirst) {
            const key = createThreadKey(library === null ? guarded(form, form.strobe_on_thread_end) : form.strobe_on_thread_end);
            new NativeFunction(form.strobe_agent_set_thread_key, "void", ["uint32"])(key);
            if (library === null) this.threadKey = key; // what its destructor calls goes with the script
        }
        this.enter = library === null ? this.makeGuard(form) : new NativeFunction(form.strobe_native_begin, "pointer", [])() as NativePointer;
        this.addUnwinder_ = new NativeFunction(form.strobe_agent_add_unwinder, "int", ["pointer"]);
        this.observers = library !== null ? new Observers(this, nativeObserving(form))
            : INTERCEPTOR_WRITES ? null : new Observers(this, portableObserving(form));
        this.unwindTable = new NativeFunction(form.strobe_agent_unwind_table, "pointer", [])() as NativePointer;
        this.registerStandardUnwinder();
        this.letLeave_ = new NativeFunction(form.strobe_agent_let_leave, "uint32", []);
        this.release_ = library !== null || INTERCEPTOR_WRITES ? null : new NativeFunction(form.strobe_agent_release, "void", []);
        this.ticks = new NativeFunction(form.strobe_agent_ticks, "uint64", []);
        this.tracer = new NativeFunction(form.strobe_agent_tracer, "uint64", []);
        this.setTracer = new NativeFunction(form.strobe_agent_set_tracer, "void", ["uint64"]);
        this.noteUnreported = new NativeFunction(form.strobe_agent_note_unreported, "void", []);
        const setChanged = new NativeFunction(form.strobe_agent_set_libraries_changed, "void", ["pointer", "pointer"]);
        this.callAtChanges = (state, changed) => {
            this.changed = changed === null ? this.changed : new NativeCallback(changed, "void", []); // a thread may be there
            setChanged(changed === null ? NULL : this.changed as NativePointer, state);
        };
        this.changeProcess = () => {
            this.noteExit(tools, form);
            const writeLone = new NativeFunction(form.strobe_agent_lone_routine, "uint32", ["pointer", "uint32", "pointer"]);
            const told = this.processHooks.waitUntilAlone(this, (memory, call, displaced) => writeLone(memory, call, displaced) as number);
            const writeGuard = new NativeFunction(form.strobe_agent_loader_guard, "uint32", ["pointer", "pointer", "pointer"]);
            this.isToldOfLibraries = this.processHooks.guardLoader(this, (memory, leadsTo) => writeGuard(memory, leadsTo, SET_CANCEL_STATE) as number);
            return told;
        };
        const catches = new NativeFunction(form.strobe_agent_catches_returns, "int", []);
        const place = new NativeFunction(form.strobe_agent_recorder, "pointer", [])() as NativePointer;
        const reason = library === null && request.library !== "" ? `${request.library} cannot be loaded there` : "";
        this.answer = {
            form: library === null ? "portable" : "native", catchesReturns: catches() !== 0, interceptorWrites: INTERCEPTOR_WRITES,
            recorder: place.toString(), reason, left: this.codeChanges.left,
            firstFunction: new NativeFunction(form.strobe_agent_first_function, "uint32", [])() as number,
        };
    }

    /** Where all trampolines of the portable form lead. */
    private makeGuard(form: Record<string, NativePointer>): NativePointer | null {
        return INTERCEPTOR_WRITES ? null : guardWritten(form.strobe_agent_entry_guard);
    }

    private noteExit(tools: Record<string, NativePointer>, form: Record<string, NativePointer>): void {
        const write = new NativeFunction(form.strobe_agent_exit_routine, "uint32", ["pointer"]);
        if (this.processHooks.noteExit(this, memory => write(memory) as number)) return;
        const offsets = new NativeFunction(tools.strobe_agent_probe_offsets, "uint32", [])() as number;
        const makeProbe = new NativeFunction(form.strobe_agent_exit_probe, "pointer", ["uint32", "uint32"]);
        const probe = makeProbe(offsets & 0xffff, offsets >>> 16) as NativePointer;
        Interceptor.attach(globalExport("_exit"), probe as unknown as NativeInvocationListenerCallbacks);
        Interceptor.flush();
    }

    private initialise(symbols: Record<string, NativePointer>, request: RecorderRequest): void {
        const init = new NativeFunction(
            symbols.strobe_agent_init, "int64", ["pointer", "uint64", "pointer", "pointer", "uint64", "uint64", "uint64"]);
        const begin = new NativeFunction(symbols.strobe_agent_begin, "pointer", ["uint64"]);
        const place = begin(request.segmentBytes) as NativePointer;
        if (place.equals(ptr(-1))) throw new Error("another session records it");
        const segment = mapShared(request.segmentPath, request.segmentBytes, request.segmentInode, place);
        if (request.isOwnProgram) mapMark(request.segmentPath);
        const result = init(
            segment, request.segmentBytes, globalExport("pthread_getspecific"), globalExport("pthread_setspecific"), mainStackAddress(),
            uint64(request.loader[0]), uint64(request.loader[1]));
        if (Number(result) !== 0) throw new Error(`the recorder could not start: error ${-Number(result)}`);
    }

    /**
     * Every unwinder of the process must know the return stubs. The usual one may be loaded only when it is first needed
     * (pthread_exit in a C program), so it is loaded now.
     */
    private registerStandardUnwinder(): void {
        const standard = loadLibrary(STANDARD_UNWINDER);
        if (standard !== null) this.registerUnwinder(librarySymbol(standard, REGISTER_FRAME));
        // a program that contains an unwinder may export it, and then it is the first of that name
        const first = Module.findGlobalExportByName(REGISTER_FRAME);
        if (first !== null) this.registerUnwinder(first);
    }

    /** `address`: of an unwinder's `__register_frame`. */
    registerUnwinder(address: NativePointer): void {
        if (this.addUnwinder_(address) === 0) return;
        new NativeFunction(address, "void", ["pointer"])(this.unwindTable);
    }

    /** Those from the one at `first` on, struct strobe_capture each. */
    setCaptures(first: number, captures: ArrayBuffer): void {
        this.setCaptures_(first, captures.byteLength / CAPTURE.bytes, bytesOf(captures));
    }

    /** `plans`: struct strobe_function_plan of each function; their captures are there. */
    setPlans(functions: number[], plans: ArrayBuffer): void {
        this.setPlans_(functions.length, idArray(functions), bytesOf(plans));
    }

    setFlags(functions: number[], flags: number[]): void {
        const values = Memory.alloc(Math.max(flags.length, 1));
        values.writeByteArray(flags);
        this.setFlags_(functions.length, idArray(functions), values);
    }

    /** `callers`: as struct strobe_recorder has them. Those before stay for as long as a thread may still read them. */
    setCallers(callers: ArrayBuffer): void {
        const start = mapAnonymous(callers.byteLength);
        start.writeByteArray(callers);
        this.replaceCallers(start);
        this.callers.push({ start, bytes: callers.byteLength });
    }

    private replaceCallers(start: NativePointer): void {
        if (this.setCallers_(start) !== 0)
            for (const before of this.callers.splice(0)) unmap(before.start, before.bytes);
    }

    addFlags(functions: number[], flags: number): void {
        this.addFlags_(functions.length, idArray(functions), flags);
    }

    /** Up to 8 bytes of code, while threads run there: a jump, or what one has replaced. False where that cannot be done safely: nothing has changed. */
    replaceCode(address: NativePointer, bytes: ArrayBuffer): boolean {
        const copy = Memory.alloc(bytes.byteLength);
        copy.writeByteArray(bytes);
        let isDone = false;
        Memory.patchCode(address, bytes.byteLength, place => { isDone = this.replaceCode_(place, copy, bytes.byteLength) !== 0; });
        return isDone;
    }

    /** Code that was unmapped, or is about to be: nothing there is changed any more, or leads anywhere. */
    forgetCode(start: NativePointer, bytes: number): void {
        this.codeChanges.forget(start, bytes);
        this.forgetCode_(uint64(start.toString()), uint64(bytes));
    }

    /** No thread of the program enters code that goes with the agent any more. How many are there still. */
    letLeave(): number {
        return this.letLeave_() as number;
    }

    /**
     * Switches recording off for good, and returns when no thread records any more; the return stubs already on stacks go on working.
     * `isHostThere`: the host asks for it, and sees to the rest.
     */
    stop(isHostThere: boolean): void {
        if (this.isStopped) return;
        this.isStopped = true;
        this.processHooks.restore(this, isHostThere);
        this.extras.end();
        this.end_();
        this.replaceCallers(NULL);
        this.unwinding.end();
    }

    /** As libc's; it is not the program that does. */
    allowTracer(pid: number): boolean {
        const before = this.tracer();
        const isAllowed = allowTracer(pid);
        this.setTracer(before);
        return isAllowed;
    }

    /** Whom the program has permitted to trace it since the session began; nobody where that was before, or is no more. */
    restoreTracer(): void {
        const before = this.tracer();
        if (!allowTracer(before)) allowTracer(0);
        this.setTracer(before);
    }

    /** From now on the recorder needs no agent: what is hooked stays so, libraries that come are not seen. Of the native form alone. */
    goOnAlone(): void {
        this.goesOn = true;
        this.extras.endScripts();
    }

    /** After `stop`, and once nothing is observed any more: a thread that still records relies on its faults being caught. */
    end(): void {
        this.observers?.end();
        if (this.threadKey !== null) deleteThreadKey(this.threadKey);
    }

    /** After `end`, once `letLeave` has said that nobody is there: most of its memory goes. */
    release(): void {
        this.release_?.();
        this.release_ = null;
    }
}

function nativeObserving(form: Record<string, NativePointer>): ObservingForm {
    return {
        name: form.strobe_native_observed_name, enter: form.strobe_native_observe,
        faults: { begin: form.strobe_native_catch_faults, end: form.strobe_native_leave_faults, noteTraced: form.strobe_native_traces_library },
    };
}

function portableObserving(form: Record<string, NativePointer>): ObservingForm {
    return { name: form.strobe_portable_observed_name, enter: guardWritten(form.strobe_portable_observe_guard), faults: null };
}

/** Memory with the guard that the function writes; outlives the agent. */
function guardWritten(writer: NativePointer): NativePointer {
    const guard = mapAnonymous(GUARD_BYTES);
    new NativeFunction(writer, "uint32", ["pointer"])(guard);
    makeExecutable(guard, GUARD_BYTES);
    return guard;
}

/** Calls the function for as long as the agent is there; outlives it. */
function guarded(form: Record<string, NativePointer>, routine: NativePointer): NativePointer {
    const guard = mapAnonymous(GUARD_BYTES);
    const size = new NativeFunction(form.strobe_agent_guard, "uint32", ["pointer", "pointer"])(guard, routine) as number;
    if (size === 0) return routine; // no such code for this CPU
    makeExecutable(guard, GUARD_BYTES);
    return guard;
}

function librarySymbols(handle: NativePointer): Record<string, NativePointer> {
    const names = ["strobe_agent_begin", "strobe_agent_init", "strobe_agent_first_function", "strobe_agent_has_thread_key", "strobe_agent_add_unwinder",
        "strobe_agent_jumps",
        "strobe_agent_set_thread_key", "strobe_agent_set_captures", "strobe_agent_set_plans", "strobe_agent_set_flags",
        "strobe_agent_add_flags", "strobe_agent_replace_code", "strobe_agent_store", "strobe_agent_store_bits", "strobe_agent_begin_stores",
        "strobe_agent_end_stores", "strobe_agent_set_watch", "strobe_agent_set_recipe",
        "strobe_agent_move_watch", "strobe_agent_add_extras", "strobe_agent_set_extras", "strobe_agent_set_callers", "strobe_agent_set_unwinding", "strobe_agent_set_script", "strobe_agent_end_scripts", "strobe_agent_tracer", "strobe_agent_set_tracer",
        "strobe_agent_set_libraries_changed", "strobe_agent_end",
        "strobe_agent_unwind_table", "strobe_agent_catches_returns", "strobe_agent_exit_probe", "strobe_agent_exit_routine", "strobe_agent_lone_routine",
        "strobe_agent_guard", "strobe_agent_loader_guard", "strobe_agent_let_leave", "strobe_agent_note_unreported", "strobe_agent_ticks", "strobe_on_thread_end",
        "strobe_native_begin", "strobe_native_sites", "strobe_native_catch_traps", "strobe_agent_set_trap", "strobe_agent_add_probe", "strobe_agent_remove_probe", "strobe_agent_add_site_range", "strobe_agent_forget_code", "strobe_agent_set_site", "strobe_agent_limit_probe", "strobe_agent_begin_limit", "strobe_native_observe", "strobe_native_observed_name",
        "strobe_native_catch_faults", "strobe_native_leave_faults", "strobe_native_traces_library",
        "strobe_agent_recorder"];
    return Object.fromEntries(names.map(name => [name, librarySymbol(handle, name)]));
}

function bytesOf(data: ArrayBuffer): NativePointer {
    const memory = Memory.alloc(Math.max(data.byteLength, 4));
    memory.writeByteArray(data);
    return memory;
}

function idArray(functions: number[]): NativePointer {
    const ids = Memory.alloc(Math.max(4 * functions.length, 4));
    ids.writeByteArray(new Uint32Array(functions).buffer as ArrayBuffer);
    return ids;
}

/** Any address in the main thread's stack. */
function mainStackAddress(): UInt64 {
    const line = File.readAllText("/proc/self/maps").split("\n").find(text => text.endsWith("[stack]"));
    return line === undefined ? uint64(0) : uint64(`0x${line.split("-")[0]}`);
}
