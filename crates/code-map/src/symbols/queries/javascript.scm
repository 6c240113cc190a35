; JavaScript alone

(class_declaration name: (identifier) @name) @definition.class

(class_body
  (field_definition
    property: [(property_identifier) (private_property_identifier)] @name
    value: [(arrow_function) (function_expression) (generator_function)]) @definition.method)

(class_body
  (field_definition "static" property: (property_identifier) @name) @definition.constant)

(class_heritage (identifier) @name) @reference.class
(class_heritage (member_expression property: (property_identifier) @name)) @reference.member

(formal_parameters (identifier) @local.definition)
