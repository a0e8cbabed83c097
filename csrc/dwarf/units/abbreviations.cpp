#include "dwarf/units/abbreviations.h"

#include <algorithm>
#include <optional>

namespace strobe::dwarf {
namespace {

// Compilers number from 1 on; a table of scattered codes must not take memory for what lies between.
bool is_dense(uint64_t code, size_t plans) { return code <= 4 * plans + 256; }

Slot slot_of(uint32_t attribute) {
    switch (attribute) {
        case 0x01:
            return kSibling;
        case 0x02:
            return kLocation;
        case 0x03:
            return kName;
        case 0x10:
            return kStmtList;
        case 0x11:
            return kLowPc;
        case 0x12:
            return kHighPc;
        case 0x18:
            return kImport;
        case 0x1b:
            return kCompDir;
        case 0x20:
            return kInline;
        case 0x31:
            return kAbstractOrigin;
        case 0x3a:
            return kDeclFile;
        case 0x3b:
            return kDeclLine;
        case 0x3c:
            return kDeclaration;
        case 0x3f:
            return kExternal;
        case 0x47:
            return kSpecification;
        case 0x52:
            return kEntryPc;
        case 0x55:
            return kRanges;
        case 0x6e:
        case 0x2007:  // DW_AT_MIPS_linkage_name
            return kLinkageName;
        case 0x72:
            return kStrOffsetsBase;
        case 0x73:
        case 0x2133:  // DW_AT_GNU_addr_base
            return kAddrBase;
        case 0x74:
            return kRnglistsBase;
        case 0x76:
        case 0x2130:  // DW_AT_GNU_dwo_name
            return kDwoName;
        default:
            return kNoSlot;
    }
}

Step step_of(uint32_t form, uint64_t constant, const Layout& layout) {
    const auto fixed = [form](uint64_t size) { return Step{Step::kFixed, kNoSlot, form, size}; };
    const auto other = [form](Step::Kind kind, uint64_t size = 0) { return Step{kind, kNoSlot, form, size}; };
    switch (form) {
        case kFormFlagPresent:
            return other(Step::kConstant, 1);
        case kFormImplicitConst:
            return other(Step::kConstant, constant);
        case kFormData1:
        case kFormFlag:
        case kFormRef1:
        case kFormStrx1:
        case kFormAddrx1:
            return fixed(1);
        case kFormData2:
        case kFormRef2:
        case kFormStrx2:
        case kFormAddrx2:
            return fixed(2);
        case kFormStrx3:
        case kFormAddrx3:
            return fixed(3);
        case kFormData4:
        case kFormRef4:
        case kFormRefSup4:
        case kFormStrx4:
        case kFormAddrx4:
            return fixed(4);
        case kFormData8:
        case kFormRef8:
        case kFormRefSup8:
        case kFormRefSig8:
            return fixed(8);
        case kFormData16:
            return fixed(16);
        case kFormAddr:
            return fixed(layout.address_size);
        case kFormRefAddr:
            return fixed(layout.version == 2 ? layout.address_size : layout.offset_size);
        case kFormStrp:
        case kFormSecOffset:
        case kFormStrpSup:
        case kFormLineStrp:
        case kFormGnuRefAlt:
        case kFormGnuStrpAlt:
            return fixed(layout.offset_size);
        case kFormSdata:
            return other(Step::kSleb);
        case kFormUdata:
        case kFormRefUdata:
        case kFormStrx:
        case kFormAddrx:
        case kFormLoclistx:
        case kFormRnglistx:
        case kFormGnuAddrIndex:
        case kFormGnuStrIndex:
            return other(Step::kUleb);
        case kFormString:
            return other(Step::kText);
        case kFormBlock:
        case kFormExprloc:
            return other(Step::kBlock, 0);
        case kFormBlock1:
            return other(Step::kBlock, 1);
        case kFormBlock2:
            return other(Step::kBlock, 2);
        case kFormBlock4:
            return other(Step::kBlock, 4);
        case kFormIndirect:
            return other(Step::kIndirect);
        default:
            throw DwarfError("unknown form " + std::to_string(form));
    }
}

// The form stands in the DIE itself.
Step indirect(Cursor& cursor, const Layout& layout, Slot slot) {
    const uint64_t form = cursor.uleb();
    if (form == kFormIndirect || form == kFormImplicitConst || form > UINT32_MAX) throw DwarfError("a form in circles");
    Step step = step_of(static_cast<uint32_t>(form), 0, layout);
    step.slot = slot;
    return step;
}

void pass(Cursor& cursor, const Step& step, const Layout& layout) {
    switch (step.kind) {
        case Step::kFixed:
            return cursor.skip(step.size);
        case Step::kConstant:
            return;
        case Step::kUleb:
        case Step::kSleb:
            return cursor.skip_leb();
        case Step::kText:
            cursor.text();
            return;
        case Step::kBlock:
            return cursor.skip(step.size == 0 ? cursor.uleb() : cursor.fixed(static_cast<unsigned>(step.size)));
        case Step::kIndirect:
            return pass(cursor, indirect(cursor, layout, kNoSlot), layout);
    }
}

Attribute value_of(Cursor& cursor, const Step& step, const Layout& layout) {
    if (step.kind == Step::kIndirect) return value_of(cursor, indirect(cursor, layout, step.slot), layout);
    uint64_t value = cursor.position();
    if (step.kind == Step::kFixed && step.size <= 8) {
        value = cursor.fixed(static_cast<unsigned>(step.size));
    } else if (step.kind == Step::kConstant) {
        value = step.size;
    } else if (step.kind == Step::kUleb) {
        value = cursor.uleb();
    } else if (step.kind == Step::kSleb) {
        value = static_cast<uint64_t>(cursor.sleb());
    } else {
        pass(cursor, step, layout);
    }
    return {step.form, value};
}

struct Entry {
    uint32_t attribute, form;
    uint64_t constant;
};

// None at the end of an abbreviation.
std::optional<Entry> read_form(Cursor& cursor) {
    const uint64_t attribute = cursor.uleb(), form = cursor.uleb();
    const uint64_t constant = form == kFormImplicitConst ? static_cast<uint64_t>(cursor.sleb()) : 0;
    if (attribute == 0 && form == 0) return std::nullopt;
    if (form > UINT32_MAX) throw DwarfError("unknown form");
    return Entry{attribute > UINT32_MAX ? 0 : static_cast<uint32_t>(attribute), static_cast<uint32_t>(form), constant};
}

void append_merged(std::vector<Step>& steps, const Step& step) {
    if (step.kind == Step::kConstant) return;
    const bool merges = step.kind == Step::kFixed && !steps.empty() && steps.back().kind == Step::kFixed &&
                        steps.back().slot == kNoSlot;
    if (merges) {
        steps.back().size += step.size;
    } else {
        steps.push_back(step);
    }
}

}  // namespace

void Plan::add(uint32_t attribute, uint32_t form, uint64_t constant) {
    Step step = step_of(form, constant, layout_);
    append_merged(passing_, step);
    if (step.kind == Step::kFixed && fixed_size >= 0) {
        fixed_size += static_cast<int64_t>(step.size);
    } else if (step.kind != Step::kConstant) {
        fixed_size = -1;
    }
    step.slot = slot_of(attribute);
    if (step.slot == kNoSlot) return append_merged(steps_, step);
    slots_ |= 1u << step.slot;
    steps_.push_back(step);
}

void Plan::skip_steps(Cursor& cursor) const {
    for (const Step& step : passing_) pass(cursor, step, layout_);
}

void Plan::read(Cursor& cursor, Attributes& attributes) const {
    attributes.clear();
    for (const Step& step : steps_) {
        if (step.slot == kNoSlot) {
            pass(cursor, step, layout_);
        } else {
            const Attribute value = value_of(cursor, step, layout_);
            attributes.set(step.slot, value.form, value.value);
        }
    }
}

Attribute read_value(Cursor& cursor, uint32_t form, const Layout& layout) {
    return value_of(cursor, step_of(form, 0, layout), layout);
}

Abbreviations::Abbreviations(Bytes section, uint64_t offset, const Layout& layout, uint64_t& budget)
    : section_(section), layout_(layout) {
    Cursor cursor(section, offset);
    while (const uint64_t code = cursor.uleb()) {
        const uint64_t start = cursor.position();
        const auto tag = static_cast<uint32_t>(cursor.uleb());
        declared_.push_back({cursor.position(), tag});
        cursor.skip(1);
        while (read_form(cursor)) {
        }
        const uint64_t bytes = cursor.position() - start;
        if (bytes > budget) throw DwarfError("too many abbreviation tables");
        budget -= bytes;
        const auto index = static_cast<uint32_t>(declared_.size());
        if (is_dense(code, declared_.size())) {
            if (dense_.size() <= code) dense_.resize(code + 1);
            dense_[code] = index;
        } else {
            sparse_[code] = index;
        }
    }
    plans_ = std::make_unique<std::atomic<const Plan*>[]>(declared_.size());
}

Abbreviations::~Abbreviations() {
    if (!plans_) return;
    for (size_t index = 0; index < declared_.size(); ++index) delete plans_[index].load();
}

uint32_t Abbreviations::find(uint64_t code) const {
    if (code < dense_.size() && dense_[code] != 0) return dense_[code] - 1;
    const auto found = sparse_.find(code);
    return found == sparse_.end() ? kUndeclared : found->second - 1;
}

const Plan& Abbreviations::make_plan(uint32_t index) const {
    Cursor cursor(section_, declared_[index].where);
    auto plan = std::make_unique<Plan>(declared_[index].tag, cursor.u8() != 0, layout_);
    while (const auto entry = read_form(cursor)) plan->add(entry->attribute, entry->form, entry->constant);
    const Plan* known = nullptr;
    // another thread may have been faster
    if (plans_[index].compare_exchange_strong(known, plan.get(), std::memory_order_acq_rel)) known = plan.release();
    return *known;
}

void Abbreviations::read_whole(uint64_t code, Cursor& cursor, WholeDie& into) const {
    const uint32_t index = find(code);
    if (index == kUndeclared) throw DwarfError("a DIE of an unknown abbreviation");
    Cursor declared(section_, declared_[index].where);
    into.tag = declared_[index].tag;
    into.has_children = declared.u8() != 0;
    into.attributes.clear();
    while (const auto entry = read_form(declared)) {
        const Step step = step_of(entry->form, entry->constant, layout_);
        into.attributes.emplace_back(entry->attribute, value_of(cursor, step, layout_));
    }
}

bool Abbreviations::has_tag(uint32_t tag) const {
    return std::any_of(declared_.begin(), declared_.end(), [tag](const Declared& one) { return one.tag == tag; });
}

}  // namespace strobe::dwarf
