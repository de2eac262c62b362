// Network of an exported controller, by docs/engines.md: C++17 and its standard library.
//
//   engine::Network network("walk.flat");
//   std::vector<float> outputs = network.step(inputs, gate);

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace engine {

/// A value of JSON: numbers, texts, lists and objects; true is 1, false and null are 0.
struct Json {
    double number = 0;
    std::string text;
    std::vector<Json> list;
    std::map<std::string, Json> entries;

    const Json& operator[](const std::string& name) const {
        auto found = entries.find(name);
        if (found == entries.end()) throw std::runtime_error("no entry " + name);
        return found->second;
    }
    bool has(const std::string& name) const { return entries.count(name) > 0; }
};

class JsonReader {
public:
    JsonReader(const char* begin, const char* end) : at_(begin), end_(end) {}

    Json value() {
        Json read;
        switch (peek()) {
        case '{':
            if (empty('}')) break;
            do {
                std::string name = string();
                expect(':');
                read.entries[name] = value();
            } while (more('}'));
            break;
        case '[':
            if (empty(']')) break;
            do read.list.push_back(value());
            while (more(']'));
            break;
        case '"': read.text = string(); break;
        case 't': at_ += 4; read.number = 1; break;
        case 'f': at_ += 5; break;
        case 'n': at_ += 4; break;
        default: {
            std::string digits;
            while (at_ < end_ && std::strchr("+-.0123456789eE", *at_)) digits += *at_++;
            if (digits.empty()) throw std::runtime_error("damaged JSON");
            read.number = std::stod(digits);
        }
        }
        return read;
    }

private:
    char peek() {
        while (at_ < end_ && std::strchr(" \t\r\n", *at_)) ++at_;
        if (at_ >= end_) throw std::runtime_error("the JSON ends too early");
        return *at_;
    }
    // Whether the bracket that opens here is closed at once.
    bool empty(char close) {
        ++at_;
        if (peek() != close) return false;
        ++at_;
        return true;
    }
    // Whether another value follows in a bracket, or it is closed.
    bool more(char close) {
        char now = peek();
        ++at_;
        if (now != ',' && now != close) throw std::runtime_error("damaged JSON");
        return now == ',';
    }
    void expect(char wanted) {
        if (peek() != wanted) throw std::runtime_error("damaged JSON");
        ++at_;
    }
    std::string string() {
        std::string read;
        for (expect('"'); at_ < end_ && *at_ != '"'; ++at_) {
            // Names of blocks and arrays have no escapes; those of other texts are kept as they are.
            if (*at_ == '\\' && at_ + 1 < end_) read += *at_++;
            read += *at_;
        }
        expect('"');
        return read;
    }

    const char* at_;
    const char* end_;
};

/// An array of a flat file, row by row, as float32.
struct Array {
    std::vector<size_t> shape;
    std::vector<float> values;
};

inline float from_half(uint16_t bits) {
    int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    float value = exponent == 0    ? std::ldexp(float(fraction), -24)
                  : exponent == 31 ? (fraction ? NAN : INFINITY)
                                   : std::ldexp(1.0f + fraction / 1024.0f, exponent - 15);
    return bits >> 15 ? -value : value;
}

/// A flat file: `header` and `arrays`. The machine must be little-endian.
struct FlatFile {
    Json header;
    std::map<std::string, Array> arrays;

    explicit FlatFile(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        if (bytes.size() < 12 || std::memcmp(bytes.data(), "DPLIVE1\n", 8) != 0)
            throw std::runtime_error("not a flat file of deepphase: " + path);
        uint32_t length;
        std::memcpy(&length, bytes.data() + 8, 4);
        size_t end = 12 + size_t(length), start = (end + 15) / 16 * 16;
        if (end > bytes.size()) throw std::runtime_error("the file ends in its header");
        header = JsonReader(bytes.data() + 12, bytes.data() + end).value();
        for (const auto& [name, entry] : header["arrays"].entries) {
            Array& array = arrays[name];
            size_t count = 1, at = start + size_t(entry["start"].number);
            for (const Json& size : entry["shape"].list) {
                array.shape.push_back(size_t(size.number));
                count *= array.shape.back();
            }
            const std::string& type = entry["type"].text;
            size_t width = type == "float16" ? 2 : 4;
            if (at > bytes.size() || count > (bytes.size() - at) / width)
                throw std::runtime_error("the file ends in " + name);
            array.values.resize(count);
            for (size_t i = 0; i < count; ++i) {
                const char* from = bytes.data() + at + width * i;
                uint16_t half;
                int32_t whole;
                if (type == "float16") {
                    std::memcpy(&half, from, 2);
                    array.values[i] = from_half(half);
                } else if (type == "int32") {
                    std::memcpy(&whole, from, 4);
                    array.values[i] = float(whole);
                } else {
                    std::memcpy(&array.values[i], from, 4);
                }
            }
        }
    }

    const Array& operator[](const std::string& name) const {
        auto found = arrays.find(name);
        if (found == arrays.end()) throw std::runtime_error("no array " + name);
        return found->second;
    }
};

/// A network of the kind "experts", with its normalisation.
class Network {
public:
    explicit Network(const std::string& path) : file(path) {
        if (file.header["network"]["kind"].text != "experts")
            throw std::runtime_error("a network of another kind than experts");
    }

    /// Raw outputs of raw inputs and gate, in SI units.
    std::vector<float> step(const std::vector<float>& inputs, const std::vector<float>& gate) {
        std::vector<float> g = normalised(gate, "gate");
        g = elu(linear(g, "network.gate_in"));
        g = elu(linear(g, "network.gate_mid"));
        shares = softmax(linear(g, "network.gate_out"));
        std::vector<float> x = normalised(inputs, "inputs");
        x = elu(blended(x, "network.layer_in"));
        x = elu(blended(x, "network.layer_mid"));
        x = blended(x, "network.layer_out");
        const auto &mean = file["outputs_mean"].values, &unit = file["outputs_unit"].values;
        for (size_t i = 0; i < x.size(); ++i) x[i] = x[i] * unit[i] + mean[i];
        if (file.arrays.count("carried_columns")) {
            const auto &columns = file["carried_columns"].values, &carried = file["carried_shares"].values;
            for (size_t i = 0; i < x.size(); ++i) x[i] += carried[i] * inputs.at(size_t(columns[i]));
        }
        return x;
    }

    FlatFile file;
    /// Weights of the experts in the last step.
    std::vector<float> shares;

private:
    std::vector<float> normalised(const std::vector<float>& values, const std::string& part) const {
        const auto &mean = file[part + "_mean"].values, &scale = file[part + "_scale"].values;
        if (values.size() != mean.size()) throw std::runtime_error("another number of " + part);
        std::vector<float> out(values.size());
        for (size_t i = 0; i < out.size(); ++i) out[i] = (values[i] - mean[i]) * scale[i];
        return out;
    }

    // Weights are (outs, ins).
    std::vector<float> linear(const std::vector<float>& x, const std::string& name) const {
        const auto &weight = file[name + ".weight"].values, &bias = file[name + ".bias"].values;
        std::vector<float> out(bias);
        for (size_t o = 0; o < out.size(); ++o)
            for (size_t i = 0; i < x.size(); ++i) out[o] += weight[o * x.size() + i] * x[i];
        return out;
    }

    // Weights are (experts, ins, outs).
    std::vector<float> blended(const std::vector<float>& x, const std::string& name) const {
        const auto &weight = file[name + ".weight"].values, &bias = file[name + ".bias"].values;
        size_t outs = file[name + ".bias"].shape.at(1);
        std::vector<float> out(outs, 0.0f);
        for (size_t expert = 0; expert < shares.size(); ++expert) {
            const float* own = weight.data() + expert * x.size() * outs;
            for (size_t o = 0; o < outs; ++o) out[o] += shares[expert] * bias[expert * outs + o];
            for (size_t i = 0; i < x.size(); ++i)
                for (size_t o = 0; o < outs; ++o) out[o] += shares[expert] * x[i] * own[i * outs + o];
        }
        return out;
    }

    static std::vector<float> elu(std::vector<float> x) {
        for (float& value : x) value = value > 0 ? value : std::expm1(value);
        return x;
    }

    static std::vector<float> softmax(std::vector<float> x) {
        float most = x.at(0), sum = 0;
        for (float value : x) most = value > most ? value : most;
        for (float& value : x) sum += value = std::exp(value - most);
        for (float& value : x) value /= sum;
        return x;
    }
};

/// Place (x, z) in m and facing in rad of a root in the world.
struct Root {
    double x = 0, z = 0, facing = 0;

    /// Move by the outputs of one frame.
    void move(const Json& header, const std::vector<float>& outputs) {
        const Json& blocks = header["layouts"]["outputs"];
        double seconds = 1 / header["frame_rate"].number;
        const float* velocity = outputs.data() + size_t(blocks["root_velocity"].list.at(0).number);
        double s = std::sin(facing), c = std::cos(facing);
        x += seconds * (velocity[0] * c + velocity[1] * s);
        z += seconds * (velocity[1] * c - velocity[0] * s);
        facing += seconds * outputs.at(size_t(blocks["root_turn"].list.at(0).number));
    }
};

}  // namespace engine
