/**
 * Functions of the C library and the C++ one whose calls the recorder must know of (csrc/recorder/native/observed.c; portable.c has a few):
 * the trampolines for them, and what begins once the host has written the jumps.
 */

import { REFUSED_NOTHING, TRAMPOLINE_HEAD } from "./abi.js";
import { symbolSize } from "./libc.js";
import type { Recorder } from "./recorder.js";
import { jumpsOf, makeTrampolines, type Trampoline } from "./trampolines.js";

const ANCHOR = "gnu_get_libc_version"; // nobody interposes it, as sanitizers do sigaction
const OF_CPP = "__cxa_"; // of whichever library has them
const CATCH = "__cxa_begin_catch";
const OF_PROGRAM = "__cyg_profile_"; // the C library's do nothing
const C_LIBRARY = /^(ld|libc|libpthread|librt|libanl)[-.]/;

/** A function of the program that is called once an exception was caught (strobe/capture/landings.py). */
export interface Landing {
    /** From where the program begins in memory. */
    offset: number;
    size: number;
}

export interface ObservedFunction extends Trampoline {
    name: string;
    entry: string;
}

/** What differs by the recorder's form. */
export interface ObservingForm {
    /** Given a number, a function's name; NULL where there are no more. */
    name: NativePointer;
    /** Where their trampolines lead. */
    enter: NativePointer;
    /** Null where no faults are caught. */
    faults: { begin: NativePointer; end: NativePointer; noteTraced: NativePointer } | null;
}

function entryOf(name: string, library: Module): NativePointer | null {
    const inLibrary = library.findExportByName(name);
    if (!name.startsWith(OF_CPP) && !name.startsWith(OF_PROGRAM)) return inLibrary;
    const first = Module.findGlobalExportByName(name);
    return name.startsWith(OF_PROGRAM) && first !== null && inLibrary !== null && first.equals(inLibrary) ? null : first;
}

export class Observers {
    private readonly names: string[] = [];
    private real = NULL;
    /** How many of the recorder's code changes are theirs, the first ones. */
    changes = 0;

    constructor(private readonly recorder: Recorder, private readonly form: ObservingForm) {
        const name = new NativeFunction(form.name, "pointer", ["uint32"]);
        for (let number = 0; ; number++) {
            const text = name(number) as NativePointer;
            if (text.isNull()) break;
            this.names.push(text.readCString() as string);
        }
    }

    /** Changes no code yet. Functions that the C library does not have are left out. */
    makeTrampolines(landings: Landing[]): ObservedFunction[] {
        const anchor = Module.findGlobalExportByName(ANCHOR);
        const library = anchor === null ? null : Process.findModuleByAddress(anchor);
        if (library === null) return [];
        const found = this.names
            .map((name, id) => ({ name, id, entry: entryOf(name, library) }))
            .filter((item): item is { name: string; id: number; entry: NativePointer } => item.entry !== null)
            .map(item => ({ ...item, size: symbolSize(item.entry) }));
        const base = Process.mainModule.base;
        const id = this.names.indexOf(CATCH); // not there where no faults are caught
        for (const { offset, size } of id < 0 ? [] : landings) {
            const entry = base.add(offset);
            if (found.every(item => !item.entry.equals(entry))) found.push({ name: CATCH, id, entry, size });
        }
        const specs = {
            ids: found.map(item => item.id),
            addresses: found.map(item => item.entry.toString()),
            sizes: found.map(item => item.size),
        };
        const { trampolines } = makeTrampolines(this.recorder, specs, this.form.enter);
        if (this.form.faults !== null && found[0]?.name === this.names[0] && trampolines[0].refusal === REFUSED_NOTHING) {
            this.real = ptr(trampolines[0].address).add(TRAMPOLINE_HEAD);
        }
        this.recorder.codeChanges.note(jumpsOf(specs.addresses, trampolines));
        this.changes = this.recorder.codeChanges.length;
        return found.map(({ name, entry }, index) => ({ name, entry: entry.toString(), ...trampolines[index] }));
    }

    /** The jumps are there. `mayBeBlocked`: see strobe_native_catch_faults. */
    begin(mayBeBlocked: boolean): void {
        if (this.form.faults !== null) new NativeFunction(this.form.faults.begin, "void", ["pointer", "int"])(this.real, mayBeBlocked ? 1 : 0);
    }

    /** Before the function is traced. */
    noteTraced(entry: NativePointer): void {
        const module = Process.findModuleByAddress(entry);
        if (this.form.faults === null || module === null || !C_LIBRARY.test(module.name)) return;
        new NativeFunction(this.form.faults.noteTraced, "void", [])();
    }

    end(): void {
        if (this.form.faults !== null) new NativeFunction(this.form.faults.end, "void", [])();
    }
}
