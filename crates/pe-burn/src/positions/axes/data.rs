//! Axes as data: the name of a constant, or an object with fields.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Axes, Axis, AxisFrequencies, PairOrder};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    axes: Vec<Axis>,
    #[serde(default)]
    order: PairOrder,
    #[serde(default)]
    frequencies: AxisFrequencies,
    #[serde(default)]
    unturned: usize,
}

impl Serialize for Axes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match Self::NAMED.iter().find(|(_, axes)| axes == self) {
            Some((name, _)) => serializer.serialize_str(name),
            None => Fields {
                axes: self.axes.to_vec(),
                order: self.order.clone(),
                frequencies: self.frequencies,
                unturned: self.unturned,
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Axes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrFields;

        impl<'de> Visitor<'de> for NameOrFields {
            type Value = Axes;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("the name of axes, or an object with a list of axes")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Axes, E> {
                let known = Axes::NAMED.map(|(name, _)| name);
                match Axes::NAMED.into_iter().find(|(known, _)| *known == name) {
                    Some((_, axes)) => Ok(axes),
                    None => Err(E::custom(format!(
                        "there are no axes named \"{name}\"; there are: {}",
                        known.join(", ")
                    ))),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Axes, A::Error> {
                let fields = Fields::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Axes {
                    axes: Cow::Owned(fields.axes),
                    order: fields.order,
                    frequencies: fields.frequencies,
                    unturned: fields.unturned,
                })
            }
        }

        deserializer.deserialize_any(NameOrFields)
    }
}
